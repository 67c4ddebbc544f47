// Rules for parameters and schemas: only what the compiled validators support is allowed.
import { isSafePattern } from 'redos-detector'
import { patternSays } from '../../compile/validators.ts'
import { createKeywordCheck, knownFormats } from '../keywords.ts'
import { resolved } from './visit.ts'

const formats = knownFormats()
const keywordProblems = createKeywordCheck()

export const schemaRules = {
  /** The validators would silently ignore other styles. */
  'parameter-style': () => ({
    Parameter: {
      enter(parameter: any, ctx: any) {
        if (parameter.in === 'cookie')
          ctx.report({
            message:
              'a parameter in a cookie is not supported, because browsers send cookies with requests of ' +
              'other pages, too: write `in: header` or `in: query`',
            location: ctx.location.child('in'),
          })
        const isObject = parameter.in === 'query' && resolved(parameter.schema, ctx)?.type === 'object'
        const styles = isObject ? ['deepObject'] : ['form', 'simple']
        if (parameter.style !== undefined && !styles.includes(parameter.style)) {
          ctx.report({
            message:
              `parameter style \`${parameter.style}\` is not supported: leave it out, or write ` +
              '`deepObject` for an object in the query',
            location: ctx.location.child('style'),
          })
        }
        if (parameter.explode === false)
          ctx.report({
            message:
              '`explode: false` is not supported, because a comma may be part of a value: leave it out, ' +
              'and a list is a repeated parameter',
            location: ctx.location.child('explode'),
          })
        if (isObject && parameter.style !== 'deepObject') {
          ctx.report({
            message: 'a query parameter that is an object must have the style `deepObject`',
            location: ctx.location.child('schema'),
          })
        }
        if (parameter.schema === undefined)
          ctx.report({
            message: `parameter \`${parameter.name}\` has no \`schema\`; \`content\` is not supported`,
            location: ctx.location.key(),
          })
        if (parameter.in === 'path' && parameter.required !== true)
          ctx.report({
            message: 'a path parameter must be `required: true`',
            location: ctx.location.child('name'),
          })
        if (parameter.in === 'path' && !/^[a-z][a-z0-9_]*$/.test(parameter.name)) {
          ctx.report({
            message: `path parameter \`${parameter.name}\` must be snake_case, as the router requires`,
            location: ctx.location.child('name'),
          })
        }
      },
    },
  }),
  'required-is-declared': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        if (schema.properties === undefined) return
        for (const name of schema.required ?? []) {
          if (schema.properties[name] === undefined) {
            ctx.report({
              message: `\`required\` lists \`${name}\`, which is not a property`,
              location: ctx.location.child('required'),
            })
          }
        }
      },
    },
  }),
  'known-format': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        if (schema.format !== undefined && !formats.has(schema.format)) {
          ctx.report({
            message: `unknown format \`${schema.format}\`; infra/validation/formats.ts adds formats`,
            location: ctx.location.child('format'),
          })
        }
      },
    },
  }),
  /** Redocly does not check keywords beside a $ref, empty enums, or numbers that JSON does not have. */
  'known-keyword': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        for (const [keyword, value] of Object.entries(schema)) {
          if (['enum', 'type'].includes(keyword) && Array.isArray(value) && value.length === 0)
            ctx.report({
              message: `\`${keyword}\` has no value`,
              location: ctx.location.child(keyword).key(),
            })
          if (typeof value === 'number' && !Number.isFinite(value))
            ctx.report({
              message: `\`${keyword}\` must be a finite number`,
              location: ctx.location.child(keyword).key(),
            })
        }
      },
    },
    ref: {
      enter(node: any, ctx: any) {
        if (ctx.type.name !== 'Schema') return
        for (const { keyword, message } of keywordProblems(node))
          ctx.report({ message, location: ctx.location.child(keyword).key() })
      },
    },
  }),
  'pattern-says': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        const says = schema[patternSays]
        if (says === undefined) return
        const report = (message: string) => ctx.report({ message, location: ctx.location.child(patternSays) })
        if (typeof says !== 'string' || says.trim() === '')
          report(`\`${patternSays}\` must be text that completes "must be"`)
        if (schema.pattern === undefined) report(`\`${patternSays}\` requires a \`pattern\``)
      },
    },
  }),
  'pattern-compiles': () => ({
    Schema: {
      enter(schema: any, ctx: any) {
        if (schema.pattern === undefined) return
        try {
          new RegExp(schema.pattern, 'u')
        } catch (error) {
          ctx.report({
            message: `pattern does not compile: ${(error as Error).message}`,
            location: ctx.location.child('pattern'),
          })
        }
      },
    },
  }),
  /**
   * A pattern runs on the event loop, even on a text that is longer than `maxLength`: one that backtracks
   * without a bound stops the server.
   */
  'pattern-backtracks': () => ({
    Schema: {
      enter({ pattern }: any, ctx: any) {
        if (typeof pattern !== 'string' || !compiles(pattern) || backtracksLittle(pattern)) return
        ctx.report({
          message:
            'the pattern can take exponential or quadratic time: make what follows a repetition unable ' +
            'to match what it repeats, such as `^[a-z]+( [a-z]+)*$` for `^([a-z]+ ?)+$`',
          location: ctx.location.child('pattern'),
        })
      },
    },
  }),
}

/** By pattern, because `npm run dev` lints after every change. */
const checked = new Map<string, boolean>()

function backtracksLittle(pattern: string): boolean {
  let safe = checked.get(pattern)
  if (safe === undefined) {
    safe = !hasChoice(pattern) || isSafePattern(pattern, { unicode: true, maxSteps: 20_000 }).safe
    checked.set(pattern, safe)
  }
  return safe
}

/** Without alternatives and repetitions of a variable length a pattern matches in one way only. */
function hasChoice(pattern: string): boolean {
  return /[*+?|]|\{\d+,/.test(pattern.replace(/\\[^]|\[(?:\\[^]|[^\]])*\]/g, ''))
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
