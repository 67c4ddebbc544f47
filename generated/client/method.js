// The runtime of the client (4dbbd5ae72d09847), compiled from packages/client/ of the toolkit. Do not edit.
export {};
