// Prints the TypeScript modules of this folder as JavaScript, in a JSON object by URL.
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

const modules = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => new URL(name, import.meta.url))
  .map((url) => [url.href, stripTypeScriptTypes(readFileSync(url, 'utf8'))])
process.stdout.write(JSON.stringify(Object.fromEntries(modules)))
