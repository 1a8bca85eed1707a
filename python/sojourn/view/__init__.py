"""What a person sees: figures, pages, and the timeline of a run."""
