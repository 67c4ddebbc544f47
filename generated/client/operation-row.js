// The runtime of the client (42c92f8b4b78c37c), compiled from packages/client/ of the toolkit. Do not edit.
export {};
