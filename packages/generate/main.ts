// `npm run toolkit -- generate FILE --out FOLDER`: writes a server for any OpenAPI document, with a stub for
// each operation. Handlers that exist are kept.
//   --client        writes the npm package of a TypeScript client instead
//   --plugin        writes only generated/, with a Fastify plugin for an app of your own: generated/plugin.ts
//   --no-formats    the server does not validate formats, which JSON Schema allows
//   --config FILE   the configuration; default: toolkit.config.ts, .mts, .js or .json here
//   --allow-remote  opens references to URLs
// Exit code: 2 if the document cannot be read.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'
import { configOption, loadConfig } from '@platform-api/openapi/config.ts'
import { remoteOption } from '@platform-api/openapi/resolver.ts'
import { generateClient } from './client.ts'
import { generateProject } from './project.ts'

answerHelp(import.meta)

try {
  const { file, out, isClient, config, ...options } = readArguments()
  const generate = isClient ? generateClient : generateProject
  const { generate: configured } = await loadConfig(config)
  const { operations, wrote, notes } = await generate(file, resolve(out), {
    ...configured,
    ...options,
    noFormats: options.noFormats || configured?.noFormats,
  })
  const result = wrote.length === 0 ? 'nothing changed' : `wrote ${wrote.join(', ')}`
  for (const line of [...notes, `${operations} operations in ${file}: ${result}`]) console.log(line)
} catch (error) {
  console.error(messageOf(error))
  process.exit(2)
}

function readArguments() {
  const { values, positionals } = parseArgs({
    options: {
      out: { type: 'string' },
      plugin: { type: 'boolean', default: false },
      'no-formats': { type: 'boolean', default: false },
      client: { type: 'boolean', default: false },
      ...remoteOption,
      ...configOption,
    },
    allowPositionals: true,
  })
  const [file] = positionals
  if (values.out === undefined || positionals.length !== 1)
    throw new Error('Pass one OpenAPI document and its folder: FILE --out FOLDER.')
  if (values.plugin && values.client) throw new Error('Pass either --plugin or --client.')
  const { out, 'allow-remote': allowRemote, plugin: isPlugin, 'no-formats': noFormats } = values
  return { file, out, allowRemote, isPlugin, noFormats, isClient: values.client, config: values.config }
}
