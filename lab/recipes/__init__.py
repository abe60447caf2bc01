"""Do recipes that were saved from finished runs run again?"""
