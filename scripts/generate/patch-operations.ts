// PATCH beside PUT. An update merges: omitted fields stay as they are. So every PUT is also accepted as
// PATCH, unless `x-replaces` says that it replaces the resource. The spec declares only the PUT; the
// published document has both, and the server, the client and the docs page treat them as one operation.

type Json = any

/** Whether the PUT of the path is also accepted as PATCH. */
export function acceptsPatch({ put, patch }: Json): boolean {
  return put !== undefined && patch === undefined && put['x-replaces'] !== true
}

/** The paths of the document, with a PATCH operation for each PUT that merges. */
export function withPatchOperations(paths: Json): Json {
  return Object.fromEntries(
    Object.entries<Json>(paths).map(([path, item]) => {
      if (!acceptsPatch(item)) return [path, item]
      const description = `${item.put.description ?? ''} \`PATCH\` does the same.`.trim()
      const put = { ...item.put, description }
      return [path, { ...item, put, patch: patchOf(item.put) }]
    }),
  )
}

function patchOf({ operationId: id, summary, ...put }: Json): Json {
  return {
    ...structuredClone(put),
    operationId: `patch${id.replace(/^update/, '').replace(/^./, (first: string) => first.toUpperCase())}`,
    summary: `${summary} (same as PUT)`,
    description: `The same as \`${id}\`, which has the method PUT.`,
    'x-same-as': id,
  }
}
