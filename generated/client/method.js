// The runtime of the client (ff11c0ef8dbb0afb), compiled from packages/client/ of the toolkit. Do not edit.
export {};
