// Preloaded into a server: appends the URL of each module that it loads, by import or require, to the file
// $LOADED_MODULES, one a line.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env.LOADED_MODULES!

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(file, `${url}\n`)
    return nextLoad(url, context)
  },
})
