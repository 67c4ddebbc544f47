// Node.js 20, the oldest version that the client supports: the variable NODE20, or the system's Node.
import { spawnSync } from 'node:child_process'

const paths = [process.env['NODE20'], '/usr/bin/node', '/usr/local/bin/node']

export const node20 = paths.find(
  (path) => path !== undefined && spawnSync(path, ['--version']).stdout?.toString().startsWith('v20.'),
)

/** The `skip` option of a test that needs Node.js 20. */
export const skipWithoutNode20 = node20 === undefined && 'no Node.js 20'
