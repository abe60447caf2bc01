"""Measurements and attacks, never shipped: kills, hostile and real servers, mutations, speed."""
