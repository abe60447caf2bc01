"""Reading OpenAPI documents lazily."""
