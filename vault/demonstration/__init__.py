"""The demonstration: real health records, with made-up people, through the whole path once."""
