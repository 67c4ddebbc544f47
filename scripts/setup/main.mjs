// Installs what the next command needs and nothing else: `--dev` adds what the tests need. Old Nodes run this file, so
// it is plain JavaScript; where the system's Node is too old for the server, it brings Node from the npm registry.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OLDEST_NODE = 20
const SERVER_NODE = 24
const LOCK_LIMIT_MS = 15 * 60 * 1000

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.setup.json')
/** Present while packages are added to a folder that stays in place. */
const unfinishedFile = join(modules, '.setup-unfinished')
/** npm's own list of what it has installed, which it writes last. */
const installedFile = join(modules, '.package-lock.json')
/** Below a dotted name, npm leaves it alone when it installs or prunes packages. */
const nodeFolder = join(modules, '.node')
const lockFolder = join(tmpdir(), 'setup-' + createHash('sha256').update(root).digest('hex').slice(0, 16))
const nodeLink = join(modules, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')

class SetupError extends Error {}

async function main() {
  if (systemNode() < OLDEST_NODE) {
    throw new SetupError(
      'This project needs Node ' +
        OLDEST_NODE +
        ' or later and found Node ' +
        systemNode() +
        ': install a current Node from nodejs.org.',
    )
  }
  const dev = process.argv.includes('--dev')
  if (isReady(dev)) return
  const unlock = await lock()
  try {
    // Another command may have installed it in the meantime.
    if (!isReady(dev)) await install(dev)
  } finally {
    unlock()
  }
}

function isReady(dev) {
  const stamp = readJson(stampFile)
  return (
    stamp !== undefined &&
    stamp.inputs === inputs() &&
    (stamp.dev || !dev) &&
    stamp.installed === installedMark() &&
    !existsSync(unfinishedFile) &&
    hasNode()
  )
}

async function install(dev) {
  const started = Date.now()
  const stamp = readJson(stampFile)
  const interrupted = existsSync(unfinishedFile)
  if (interrupted || !isComplete(dev)) {
    // What the tests brought stays: the next test run would only bring it again.
    const all = dev || (stamp !== undefined && stamp.dev)
    console.log('Installing the dependencies' + (all ? ', those of the tests included' : '') + ' ...')
    if (!interrupted && isComplete(false)) await addPackages()
    // Prisma's client names the whole Prisma command line as a peer, 240 MB that serving does not need.
    else await npm(all ? ['ci', '--include=dev'] : ['ci', '--omit=dev', '--legacy-peer-deps'])
    writeStamp(all)
  } else {
    writeStamp(dev || isComplete(true))
  }
  if (!hasNode()) {
    console.log('Installing Node ' + SERVER_NODE + ', since this system has Node ' + systemNode() + ' ...')
    await installNode()
  }
  const seconds = Math.round((Date.now() - started) / 1000)
  if (seconds > 0) console.log('Installed in ' + seconds + ' s.')
}

/** Keeps what is there, which a running server may be using. */
async function addPackages() {
  writeFileSync(unfinishedFile, '')
  await npm(['install', '--no-save', '--include=dev'])
  rmSync(unfinishedFile)
}

/** Whether npm says that it has installed what the lock file asks for here, and the packages are in their places. */
function isComplete(dev) {
  const wanted = readJson(join(root, 'package-lock.json'))
  const installed = readJson(installedFile)
  if (wanted === undefined || installed === undefined) return false
  return Object.keys(wanted.packages).every((path) => {
    const entry = wanted.packages[path]
    if (path === '' || !isWanted(entry, dev)) return true
    const found = installed.packages[path]
    return (
      found !== undefined && found.version === entry.version && existsSync(join(root, path, 'package.json'))
    )
  })
}

function isWanted(entry, dev) {
  if (!dev && (entry.dev || entry.devOptional)) return false
  // An optional package without a platform may be a peer that nobody installs.
  if (entry.peer && entry.optional) return false
  if (entry.optional && entry.os === undefined && entry.cpu === undefined) return false
  if (entry.libc !== undefined) return false
  return allows(entry.os, process.platform) && allows(entry.cpu, process.arch)
}

function allows(list, value) {
  if (list === undefined) return true
  if (list.includes('!' + value)) return false
  return list.includes(value) || list.every((item) => item.startsWith('!'))
}

function writeStamp(dev) {
  const text = JSON.stringify({ inputs: inputs(), dev, installed: installedMark() })
  writeFileSync(stampFile + '.new', text)
  renameSync(stampFile + '.new', stampFile)
}

function inputs() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  return hash.update(process.platform + '-' + process.arch).digest('hex')
}

/** Changes whenever npm installs or removes something by another hand. */
function installedMark() {
  if (!existsSync(installedFile)) return ''
  const { mtimeMs, size } = statSync(installedFile)
  return mtimeMs + '-' + size
}

/** The Node that runs npm. This script itself may already be running on the one that it has installed. */
function systemNode() {
  const agent = / node\/v(\d+)/.exec(process.env.npm_config_user_agent || '')
  return Number(agent === null ? process.versions.node.split('.')[0] : agent[1])
}

function hasNode() {
  return systemNode() >= SERVER_NODE || existsSync(nodeLink)
}

/**
 * The package `node` only picks the package of the platform in an install script, which npm may refuse to run; so the
 * package of the platform is installed itself.
 */
async function installNode() {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const name =
    (system === 'darwin' && process.arch === 'arm64' ? 'node-bin-' : 'node-') + system + '-' + process.arch
  rmSync(nodeFolder, { recursive: true, force: true })
  rmSync(nodeLink, { force: true })
  mkdirSync(nodeFolder, { recursive: true })
  mkdirSync(dirname(nodeLink), { recursive: true })
  await npm(['install', '--no-save', '--no-package-lock', '--prefix', nodeFolder, name + '@' + SERVER_NODE])
  const inside = join('node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const check = spawnSync(join(nodeFolder, inside), ['--version'], { encoding: 'utf8' })
  if (check.status !== 0) {
    throw new SetupError(
      'Node ' +
        SERVER_NODE +
        ' from the npm registry does not run on this system: install Node ' +
        SERVER_NODE +
        ' from nodejs.org.',
    )
  }
  if (process.platform === 'win32') writeFileSync(nodeLink, '@"%~dp0..\\.node\\' + inside + '" %*\r\n')
  else symlinkSync(join('..', '.node', inside), nodeLink)
}

/** Runs npm without its talk, which is shown only when it fails. No package here needs its install script. */
function npm(args) {
  const quiet = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--no-update-notifier',
    '--loglevel=error',
  ]
  // Left to itself, npm tries for more than a minute before it says that there is no network.
  const own = process.env.npm_config_fetch_retries !== undefined
  const patience = own
    ? []
    : ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=8000']
  const all = [...args, ...quiet, ...patience]
  const { npm_execpath: script, npm_node_execpath: node } = process.env
  const known = script !== undefined && node !== undefined && /npm-cli\.[cm]?js$/.test(script)
  return new Promise((resolve, reject) => {
    const child = known
      ? spawn(node, [script, ...all], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('npm', all, {
          cwd: root,
          stdio: ['ignore', 'pipe', 'pipe'],
          shell: process.platform === 'win32',
        })
    // An npm that outlives a killed setup still holds the lock.
    if (child.pid !== undefined) appendFileSync(join(lockFolder, 'pids'), child.pid + '\n')
    let output = ''
    const keep = (text) => {
      output = (output + text).slice(-20000)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.on('error', () =>
      reject(new SetupError('npm was not found: install Node with npm from nodejs.org.')),
    )
    child.on('close', (code, signal) => {
      if (code === 0) return resolve()
      if (signal !== null)
        return reject(
          new SetupError('The installation was ended by ' + signal + ': run the command again to finish it.'),
        )
      process.stderr.write(output)
      const offline =
        /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network/i.test(output)
      reject(
        new SetupError(
          offline
            ? 'The npm registry cannot be reached: check the network and the registry that npm is set to, and run the command again.'
            : 'The dependencies could not be installed: npm says why above; run the command again when it is mended.',
        ),
      )
    })
  })
}

/** One installation at a time, also where `npm start` and `npm test` begin together in a fresh clone. */
async function lock() {
  for (;;) {
    try {
      mkdirSync(lockFolder)
      writeFileSync(join(lockFolder, 'pids'), process.pid + '\n')
      return () => rmSync(lockFolder, { recursive: true, force: true })
    } catch (error) {
      if (error.code !== 'EEXIST')
        throw new SetupError(
          'The temporary folder ' +
            tmpdir() +
            ' cannot be written (' +
            error.message +
            '): set TMPDIR to one that can.',
        )
    }
    if (isAbandoned()) rmSync(lockFolder, { recursive: true, force: true })
    else await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function isAbandoned() {
  const folder = statSync(lockFolder, { throwIfNoEntry: false })
  if (folder === undefined) return true
  const age = Date.now() - folder.mtimeMs
  const pids = readPids()
  return age > LOCK_LIMIT_MS || (pids.length === 0 ? age > 5000 : !pids.some(isAlive))
}

function readPids() {
  try {
    return readFileSync(join(lockFolder, 'pids'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map(Number)
  } catch {
    // It is being taken or released at this moment.
    return []
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

main().catch((error) => {
  console.error(error instanceof SetupError ? error.message : error)
  process.exitCode = 1
})
