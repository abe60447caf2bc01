"""Documents, answers and faults that were made to do harm, and what the product does with them."""
