// The runtime of the client (5cd94f2280a48b66), compiled from packages/client/ of the toolkit. Do not edit.
export {};
