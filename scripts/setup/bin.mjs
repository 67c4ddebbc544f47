#!/usr/bin/env node
// The command of the npm package of the server: `npx platform-api [serve|worker|migrate|admin|…]`. Without a
// command it serves. Its data is in the folder where it is called.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const scripts = dirname(dirname(fileURLToPath(import.meta.url)))
const main = join(scripts, 'container/main.js')
const command = process.argv.length > 2 ? [] : ['serve']
const options = ['--v8-pool-size=1', '--import', join(scripts, '../app/compile-cache.js')]
process.argv.splice(2, 0, ...options, main, ...command)
await import('../run.mjs')
