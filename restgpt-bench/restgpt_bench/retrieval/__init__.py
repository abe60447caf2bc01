"""Measures search without a model: does a raw instruction find the operations that fulfil it?"""
