// What may change while a version lasts: values that come later, errors that are told apart, and operations that end.
import { methods } from '../methods.ts'
import { eachOperation, resolved, type Context } from './visit.ts'

/** How long an operation stays after it was called deprecated, in months. */
const notice = 6

export const lifetimeRules = {
  'extensible-values': () => ({
    Schema: {
      enter(schema: any, ctx: Context) {
        const extensible = schema['x-extensible']
        if (extensible === undefined) return
        const report = (message: string): void =>
          ctx.report({ message, location: ctx.location.child('x-extensible') })
        if (extensible !== true) report('`x-extensible` is `true`, or is left out')
        if (
          schema.enum === undefined &&
          schema['x-event-types'] === undefined &&
          schema['x-error-code'] === undefined
        )
          report('`x-extensible` stands beside an `enum`, which may get more values')
      },
    },
  }),
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
      // Whether it can serve is no error of a request.
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
        if (operation[key] !== undefined)
          report(key, `\`${key}\` is for an operation that is \`deprecated: true\``)
      return
    }
    for (const key of ['x-deprecated-at', 'x-sunset']) {
      if (operation[key] === undefined)
        ctx.report({
          message: `an operation that is deprecated says since when and until when it answers: \`${key}\``,
          location: location.child('deprecated').key(),
        })
      else if (dayOf(operation[key]) === null) report(key, `\`${key}\` is a day such as 2027-06-30`)
    }
    const [begin, end] = [dayOf(since), dayOf(sunset)]
    if (begin !== null && end !== null) {
      const earliest = new Date(begin)
      earliest.setUTCMonth(earliest.getUTCMonth() + notice)
      if (end < earliest)
        report(
          'x-sunset',
          `it ends ${notice} months after \`x-deprecated-at\` at the earliest, on ${earliest.toISOString().slice(0, 10)}`,
        )
    }
    if (successor === undefined) return
    const next = operationCalled(root, successor, (item) =>
      item.$ref === undefined ? item : (ctx as any).resolve(item, rootFile).node,
    )
    if (next === null) return report('x-successor', `there is no operation \`${successor}\``)
    const own = parametersIn(url)
    for (const name of parametersIn(next.url)) {
      if (!own.includes(name))
        report('x-successor', `the path of \`${successor}\` has \`${name}\`, which this one does not`)
    }
  }),
}

/** A day as the spec writes it: text, or what YAML takes for a time. */
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
