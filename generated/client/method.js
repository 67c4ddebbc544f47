// The runtime of the client (2462d5f4a653bc6a), compiled from packages/client/ of the toolkit. Do not edit.
export {};
