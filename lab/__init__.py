"""What measures and torments the product: kills, hostile servers, real servers, mutations, speed; never shipped."""
