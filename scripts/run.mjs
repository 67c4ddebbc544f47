// Runs a script of package.json: installs what it needs, then gives its process to Node with the arguments.
//   node scripts/run.mjs [--dev] [option of Node ...] FILE [argument ...]
//   --dev   also installs what the tests and the generator need
// Plain JavaScript, because old Node versions run this file.
import { spawn } from 'node:child_process'
import { isatty } from 'node:tty'
import { nodeFile, reportError, setUp } from './setup/main.mjs'

const parts = process.argv.slice(2)
const dev = parts[0] === '--dev'
const args = [...process.execArgv, ...parts.slice(dev ? 1 : 0)]

try {
  await setUp(dev)
  const node = nodeFile()
  // The server replaces this process: it gets the signals, and no second process stays beside it.
  if (process.execve !== undefined && process.platform !== 'win32')
    process.execve(node, [node, ...args], process.env)
  else runBeside(node)
} catch (error) {
  reportError(error)
}

/** Node 20, which runs the first command on a system without a current Node, cannot replace its process. */
function runBeside(node) {
  const child = spawn(node, args, { stdio: 'inherit' })
  // A terminal sends Ctrl-C to the script as well.
  process.on('SIGINT', () => isatty(0) || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // npm sends a signal to its shell, which may exit without passing it on.
  const parent = process.ppid
  setInterval(() => process.ppid === parent || child.kill('SIGTERM'), 500).unref()
  child.on('error', reportError)
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
