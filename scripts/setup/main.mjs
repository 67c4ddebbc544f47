// Installs the dependencies that a command needs, and writes the files of generated/ that are not in git:
// `--dev` adds the dependencies of the tests and the types. If the system's Node is too old for the server,
// installs Node from the npm registry: the version and hash in scripts/setup/node.json, by platform. Plain
// JavaScript, because old Node versions run this file.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configureGit } from './git-config.mjs'
import { hasCompiled, hasTypes, writeCompiled, writeTypes } from './generated.mjs'

const OLDEST_NODE = 20
const SERVER_NODE = 24
const LOCK_LIMIT_MS = 15 * 60 * 1000

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.setup.json')
/** Exists while packages are added to the existing folder. */
const unfinishedFile = join(modules, '.setup-unfinished')
/** Written by scripts/prune: an image has all that a server needs, and cannot install anything. */
const prunedFile = join(modules, '.pruned')
/** The npm package of the server has none: npm installs its dependencies beside it. */
const lockFile = join(root, 'package-lock.json')
/** npm's list of installed packages, which it writes last. */
const installedFile = join(modules, '.package-lock.json')
/** npm does not touch folders with a dot when it installs or prunes packages. */
const nodeFolder = join(modules, '.node')
/** To renew an entry: npm view NAME@24 version dist.integrity */
const nodesFile = join(root, 'scripts', 'setup', 'node.json')
const lockFolder = join(tmpdir(), 'setup-' + createHash('sha256').update(root).digest('hex').slice(0, 16))
const nodeLink = join(modules, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')

const usage = [
  'Usage: node scripts/setup/main.mjs [--dev]',
  '  Installs the packages that a server needs, and a current Node if this one is too old, and compiles the',
  '  validators. The npm scripts run it first, by scripts/run.mjs; it does nothing when all is there.',
  '  --dev  installs those of the tests and the generator, too, and writes the types of generated/',
].join('\n')

class SetupError extends Error {}

/** Installs what is missing. */
export async function setUp(dev) {
  if (systemNode() < OLDEST_NODE) {
    throw new SetupError(
      'This project needs Node ' +
        OLDEST_NODE +
        ' or later, but this is Node ' +
        systemNode() +
        '. Install a current Node from nodejs.org.',
    )
  }
  if (dev) configureGit(root)
  if (existsSync(prunedFile) && !dev) return
  if (!existsSync(lockFile)) return await once(hasNode, installNode)
  await once(
    () => isReady(dev),
    () => install(dev),
  )
  await once(
    () => hasCompiled(root),
    () => compile(dev),
  )
  if (dev)
    await once(
      () => hasTypes(root),
      () => writeTypes(root, nodeFile()),
    )
}

/** Does the work unless it is done, by this command or by another one in the meantime. */
async function once(isDone, work) {
  if (isDone()) return
  const unlock = await lock()
  try {
    if (!isDone()) await work()
  } finally {
    unlock()
  }
}

/** In development a merge may have left conflicts, and the command may be the one that ends them. */
function compile(dev) {
  if (writeCompiled(root, nodeFile()) || dev) return
  throw new SetupError('The validators and serializers could not be compiled. Fix the error above.')
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
    // Keep the dependencies of the tests for the next test run.
    const all = dev || (stamp !== undefined && stamp.dev)
    console.log('Installing the dependencies' + (all ? ', including those of the tests' : '') + ' ...')
    if (!interrupted && isComplete(false)) await addPackages()
    // Without peers: Prisma's client has the Prisma CLI as a peer, 240 MB that the server does not need.
    else await npm(all ? ['ci', '--include=dev'] : ['ci', '--omit=dev', '--legacy-peer-deps'])
    writeStamp(all)
  } else {
    writeStamp(dev || isComplete(true))
  }
  if (!hasNode()) {
    console.log('Installing Node ' + SERVER_NODE + ', because this system has Node ' + systemNode() + ' ...')
    await installNode()
  }
  const seconds = Math.round((Date.now() - started) / 1000)
  if (seconds > 0) console.log('Installed in ' + seconds + ' s.')
}

/** Keeps the existing packages, which a running server may use. */
async function addPackages() {
  writeFileSync(unfinishedFile, '')
  await npm(['install', '--no-save', '--include=dev'])
  rmSync(unfinishedFile)
}

/** Whether all packages of the lock file for this platform are installed. */
function isComplete(dev) {
  const wanted = readJson(lockFile)
  const installed = readJson(installedFile)
  if (wanted === undefined || installed === undefined) return false
  return Object.keys(wanted.packages).every((path) => {
    const entry = wanted.packages[path]
    if (path === '' || !isWanted(entry, dev)) return true
    // A package of this project, which is a link to its folder; only the tools are packages.
    if (entry.link || !path.startsWith('node_modules/'))
      return !dev || existsSync(join(root, path, 'package.json'))
    const found = installed.packages[path]
    return (
      found !== undefined && found.version === entry.version && existsSync(join(root, path, 'package.json'))
    )
  })
}

function isWanted(entry, dev) {
  if (!dev && (entry.dev || entry.devOptional)) return false
  // npm may omit optional peers and optional packages without a platform.
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
  const hash = createHash('sha256').update(readFileSync(lockFile))
  return hash.update(platform()).digest('hex')
}

/** Changes when another process runs npm in this folder. */
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
  if (systemNode() >= SERVER_NODE) return true
  const node = pinnedNode()
  if (node === undefined || !existsSync(nodeLink)) return false
  const found = readJson(join(nodeFolder, 'node_modules', node.name, 'package.json'))
  return found !== undefined && found.version === node.version
}

/** The Node that runs the scripts: this one, or the installed one if this one is too old. */
export function nodeFile() {
  const node = pinnedNode()
  if (node === undefined || Number(process.versions.node.split('.')[0]) >= SERVER_NODE)
    return process.execPath
  return join(nodeFolder, insideOf(node))
}

/** The path of the program in the folder where npm installs it. */
function insideOf({ name }) {
  return join('node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

function platform() {
  return process.platform + '-' + process.arch
}

/** undefined when there is none for this platform. */
function pinnedNode() {
  const nodes = readJson(nodesFile)
  return nodes && nodes[platform()]
}

/**
 * The package `node` only picks the package of the platform in an install script, which npm may refuse to
 * run; so the package of the platform is installed itself.
 */
async function installNode() {
  const node = pinnedNode()
  if (node === undefined) throw unusableNode('There is no Node ' + SERVER_NODE)
  rmSync(nodeFolder, { recursive: true, force: true })
  rmSync(nodeLink, { force: true })
  mkdirSync(nodeFolder, { recursive: true })
  mkdirSync(dirname(nodeLink), { recursive: true })
  writeLock(node)
  await npm(['ci', '--prefix', nodeFolder])
  const inside = insideOf(node)
  const check = spawnSync(join(nodeFolder, inside), ['--version'], { encoding: 'utf8' })
  if (check.status !== 0 || check.stdout.trim() !== 'v' + node.version)
    throw unusableNode('This system does not run Node ' + node.version)
  if (process.platform === 'win32') writeFileSync(nodeLink, '@"%~dp0..\\.node\\' + inside + '" %*\r\n')
  else symlinkSync(join('..', '.node', inside), nodeLink)
}

/** npm compares the bytes that it gets with the integrity in a lock file, before it unpacks them. */
function writeLock({ name, ...entry }) {
  const dependencies = { [name]: entry.version }
  const packages = { '': { dependencies }, ['node_modules/' + name]: entry }
  const write = (file, content) => writeFileSync(join(nodeFolder, file), JSON.stringify(content))
  write('package.json', { private: true, dependencies })
  write('package-lock.json', { lockfileVersion: 3, requires: true, packages })
}

function unusableNode(what) {
  return new SetupError(
    what +
      ' from the npm registry. Install Node ' +
      SERVER_NODE +
      ' from nodejs.org, for ' +
      platform() +
      '.',
  )
}

/** Runs npm and prints its output only after a failure. No dependency needs an install script. */
function npm(args) {
  const quiet = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--no-update-notifier',
    '--loglevel=error',
  ]
  // By default npm tries for more than a minute before it reports a missing network.
  const isConfigured = process.env.npm_config_fetch_retries !== undefined
  const retries = isConfigured
    ? []
    : ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=8000']
  const all = [...args, ...quiet, ...retries]
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
    // The lock stays valid while npm runs, even if this process is killed.
    if (child.pid !== undefined) appendFileSync(join(lockFolder, 'pids'), child.pid + '\n')
    let output = ''
    const keep = (text) => {
      output = (output + text).slice(-20000)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.on('error', () =>
      reject(new SetupError('npm was not found. Install Node with npm from nodejs.org.')),
    )
    child.on('close', (code, signal) => {
      if (code === 0) return resolve()
      if (signal !== null)
        return reject(
          new SetupError(
            'The installation was interrupted by ' + signal + '. Run the command again to complete it.',
          ),
        )
      process.stderr.write(output)
      const offline =
        /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network/i.test(output)
      reject(
        new SetupError(
          offline
            ? "The npm registry cannot be reached. Check the network and npm's registry setting, " +
                'and run the command again.'
            : 'The dependencies could not be installed. Fix the npm error above and run the command again.',
        ),
      )
    })
  })
}

/**
 * Allows one installation at a time, for example if `npm start` and `npm test` start together in a new
 * clone.
 */
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
            ' is not writable (' +
            error.message +
            '). Set TMPDIR to a writable folder.',
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
    // Another process is creating or removing the lock.
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

export function reportError(error) {
  console.error(error instanceof SetupError ? error.message : error)
  process.exitCode = 1
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--help') || process.argv.includes('-h')) console.log(usage)
  else if (process.argv.includes('--version')) console.log(readJson(join(root, 'package.json')).version)
  else setUp(process.argv.includes('--dev')).catch(reportError)
}
