-- revision: 1
set local search_path = waypost;
