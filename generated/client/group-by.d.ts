// The runtime of the client (b7bb6a0f63aa8c88), compiled from packages/client/ of the toolkit. Do not edit.
/** `Map.groupBy`, which Node.js 20 lacks. */
export declare function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]>;
