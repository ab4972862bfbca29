"""Settings shared by every test module."""

import os

from hypothesis import settings

# A timing is never a reason to fail: shared runners stall.
# Set HYPOTHESIS_PROFILE=thorough to search longer.
settings.register_profile("default", deadline=None, max_examples=50, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
