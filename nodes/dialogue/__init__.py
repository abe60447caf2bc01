"""What the roles are told of the APIs and of the conversation, and what they tell the user at the end."""
