// Visits every operation of the spec for the rules, with its path, its method and the root document.
import { methods } from '@platform-api/openapi/methods.ts'

export interface Context {
  report(problem: { message: string; location?: any }): void
  location: any
  key: string | number
  /** Redocly's name for the node type, such as `Schema`. */
  type: { name: string }
  /** @param from the absolute reference of the file that has the node; default: the visited file. */
  resolve(node: any, from?: string): { node: any; location?: any }
}

export function resolved(node: any, ctx: Context): any {
  return node?.$ref === undefined ? node : ctx.resolve(node).node
}

export function parametersOf(operation: any, path: any, ctx: Context): any[] {
  return [...(path?.parameters ?? []), ...(operation.parameters ?? [])]
    .map((p) => resolved(p, ctx))
    .filter(Boolean)
}

export function header(response: any, name: string): boolean {
  return Object.keys(response?.headers ?? {}).some((key) => key.toLowerCase() === name.toLowerCase())
}

/** The 200 of the GET operation with the id, which may be on another path. */
export function responseOfRead(id: string, root: any, rootFile: string, ctx: any): any {
  for (const item of Object.values<any>(root.paths ?? {})) {
    const at = item.$ref === undefined ? { node: item } : ctx.resolve(item, rootFile)
    const { get } = at.node ?? {}
    const found = get?.operationId === id ? get.responses?.['200'] : undefined
    if (found?.$ref !== undefined) return ctx.resolve(found, at.location?.source.absoluteRef ?? rootFile).node
    if (found !== undefined) return found
  }
  return undefined
}

/** Calls `check` for every operation with its path item, its method and the root document. */
export function eachOperation(
  check: (
    operation: any,
    at: { path: any; method: string; root: any; rootFile: string; ctx: Context; location: any; url: string },
  ) => void,
) {
  return () => {
    let root: any
    let rootFile = ''
    return {
      Root: {
        enter(node: any, ctx: any) {
          root = node
          rootFile = ctx.location.source.absoluteRef
        },
      },
      PathItem: {
        enter(path: any, ctx: any) {
          for (const method of methods) {
            if (path[method])
              check(path[method], {
                path,
                method,
                root,
                rootFile,
                ctx,
                location: ctx.location.child(method),
                url: String(ctx.key),
              })
          }
        },
      },
    }
  }
}
