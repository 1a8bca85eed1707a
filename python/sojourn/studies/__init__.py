"""Questions that take many runs: papers, recommendations, searches, placements."""
