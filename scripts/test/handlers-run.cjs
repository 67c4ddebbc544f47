// Notes the modules of handlers/ that serve a request of a test file: in its worker, and in the servers that
// it starts. The file that TEST_HANDLERS names has their names, a line each.
const { subscribe } = require('node:diagnostics_channel')
const { appendFileSync } = require('node:fs')

const noted = new Set()

subscribe('tracing:fastify.request.handler:start', ({ request }) => {
  const { TEST_HANDLERS: file } = process.env
  const module = request.routeOptions.config.operation?.tag
  if (file === undefined || module === undefined || noted.has(`${module} ${file}`)) return
  noted.add(`${module} ${file}`)
  appendFileSync(file, `${module}\n`)
})
