// Rules for compatibility within a version: known error codes and deprecations.
import { methods } from '@platform-api/openapi/methods.ts'
import { eachOperation, resolved } from './visit.ts'

/** The months between the deprecation of an operation and its sunset, at least. */
const minMonthsToSunset = 6

export const lifetimeRules = {
  'known-error': eachOperation((operation, { root, ctx, location }) => {
    const codes = Object.values<any>(root['x-error-codes'] ?? {})
    if (codes.length === 0) return
    for (const [status, response] of Object.entries<any>(operation.responses ?? {})) {
      if (
        status < '400' ||
        resolved(response, ctx)?.content?.['application/json'] === undefined ||
        codes.some((code) => code.status?.includes(Number(status)))
      )
        continue
      // A health check's 503 has its own body, without an error code.
      if (
        resolved(resolved(response, ctx).content['application/json'].schema, ctx)?.properties?.error ===
        undefined
      )
        continue
      ctx.report({
        message: `x-error-codes in openapi.yaml has no code for ${status}`,
        location: location.child(['responses', status]).key(),
      })
    }
  }),
  deprecation: eachOperation((operation, { root, rootFile, url, ctx, location }) => {
    const { deprecated, 'x-deprecated-at': since, 'x-sunset': sunset, 'x-successor': successor } = operation
    const report = (key: string, message: string): void =>
      ctx.report({ message, location: location.child(key) })
    if (deprecated !== true) {
      for (const key of ['x-deprecated-at', 'x-sunset', 'x-successor'])
        if (operation[key] !== undefined) report(key, `\`${key}\` requires \`deprecated: true\``)
      return
    }
    for (const key of ['x-deprecated-at', 'x-sunset']) {
      if (operation[key] === undefined)
        ctx.report({
          message: `a deprecated operation must have \`${key}\``,
          location: location.child('deprecated').key(),
        })
      else if (dayOf(operation[key]) === null) report(key, `\`${key}\` must be a date such as 2027-06-30`)
    }
    const [begin, end] = [dayOf(since), dayOf(sunset)]
    if (begin !== null && end !== null) {
      const earliest = new Date(begin)
      earliest.setUTCMonth(earliest.getUTCMonth() + minMonthsToSunset)
      if (end < earliest)
        report(
          'x-sunset',
          `the sunset must be at least ${minMonthsToSunset} months after \`x-deprecated-at\`: ` +
            `${earliest.toISOString().slice(0, 10)} or later`,
        )
    }
    if (successor === undefined) return
    const next = operationCalled(root, successor, (item) =>
      item.$ref === undefined ? item : (ctx as any).resolve(item, rootFile).node,
    )
    if (next === null) return report('x-successor', `unknown operation \`${successor}\``)
    const own = parametersIn(url)
    for (const name of parametersIn(next.url)) {
      if (!own.includes(name))
        report(
          'x-successor',
          `the path of \`${successor}\` has the parameter \`${name}\`, which this path does not have`,
        )
    }
  }),
}

/** The date, which YAML may have parsed as a timestamp; null if it is not a date. */
function dayOf(value: unknown): Date | null {
  const text = value instanceof Date ? value.toISOString().slice(0, 10) : String(value)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? new Date(text) : null
}

function parametersIn(url: string): string[] {
  return [...url.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
}

function operationCalled(root: any, id: string, follow: (item: any) => any): { url: string } | null {
  for (const [url, item] of Object.entries<any>(root.paths ?? {})) {
    const path = follow(item)
    if (methods.some((method) => path?.[method]?.operationId === id)) return { url }
  }
  return null
}
