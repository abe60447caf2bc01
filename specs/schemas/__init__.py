"""Schemas of operations: conversion to JSON Schema, validation, types and patterns."""
