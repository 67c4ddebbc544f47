// Rules for the names of components. Code generators turn them into the names of types and classes.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const component = /^#\/components\/([^/]+)\/([^/]+)$/

export const nameRules = {
  /** The bundler would call the second component `Name-2`. */
  'distinct-component-names': () => {
    const places = new Map<string, string>()
    return {
      ref: {
        enter(node: any, ctx: any) {
          const { location } = ctx.resolve(node)
          const [, kind, name] = component.exec(location?.pointer ?? '') ?? []
          if (name === undefined) return
          const file = location.source.absoluteRef
          const other = places.get(`${kind} ${name}`) ?? file
          places.set(`${kind} ${name}`, other)
          if (other !== file)
            ctx.report({
              message:
                `components/${kind} has \`${name}\` in ${basename(other)} and in ${basename(file)}; ` +
                'rename one of them',
              location: location.key(),
            })
        },
      },
    }
  },
  'schema-name': () => ({
    ref: {
      enter(node: any, ctx: any) {
        const { location } = ctx.resolve(node)
        const [, kind, name] = component.exec(location?.pointer ?? '') ?? []
        if (kind !== 'schemas') return
        const report = (message: string): void => ctx.report({ message, location: location.key() })
        if (!/^[A-Z][A-Za-z0-9]*$/.test(name)) report(`the name \`${name}\` must be PascalCase`)
        if (globals().has(name))
          report(
            `\`${name}\` is the name of a global type of JavaScript or the browser; ` +
              'generated clients would confuse them',
          )
      },
    },
  }),
}

let known: Set<string> | undefined

/** The names that TypeScript's own libraries declare, such as `File` and `Error`. */
function globals(): Set<string> {
  known ??= new Set(libraryFiles().flatMap(declaredNames))
  return known
}

function libraryFiles(): string[] {
  const folder = dirname(fileURLToPath(import.meta.resolve('typescript')))
  return readdirSync(folder)
    .filter((file) => /^lib\.(dom|es)[\w.]*\.d\.ts$/.test(file))
    .map((file) => join(folder, file))
}

function declaredNames(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^(?:declare )?(?:var|interface|class|type|function) (\w+)/gm)].map(
    ([, name]) => name,
  )
}
