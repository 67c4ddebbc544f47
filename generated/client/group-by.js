// The runtime of the client (001c46021f1e233d), compiled from packages/client/ of the toolkit. Do not edit.
/** `Map.groupBy`, which Node.js 20 lacks. */
export function groupBy(items, keyOf) {
    const groups = new Map();
    for (const item of items) {
        const key = keyOf(item);
        const group = groups.get(key);
        if (group === undefined)
            groups.set(key, [item]);
        else
            group.push(item);
    }
    return groups;
}
