// The S3 server for tests: Ceph's radosgw with a monitor and an object store, in one folder and on loopback.
// The test runner starts one server per run, when the first test asks for it. A test that breaks the server
// starts its own.
import { execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NoSuchBucket,
  S3Client,
} from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

/** How a client reaches the server; buckets are addressed by path. */
export interface S3Access {
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

export interface S3Server extends S3Access {
  /** An empty bucket for this test only. */
  bucket: string
  newBucket(): Promise<string>
}

export interface OwnS3Server extends S3Server {
  /** Suspends the server: it accepts connections and does not respond until it is resumed. */
  pause(): void
  resume(): void
  /** Stops the gateway, which refuses connections until `up`. The data stays. */
  down(): Promise<void>
  up(): Promise<void>
  /** Stops all processes and deletes the data. */
  stop(): Promise<void>
}

const PROGRAMS = ['ceph', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin', 'setpriv']
const START_SECONDS = 60

/** The `skip` reason of tests that need S3; false when they can run. */
export const noS3: string | false =
  process.env.TEST_S3_SOCKET === undefined && 'radosgw, ceph-mon and ceph-osd are not installed'

export function s3Installed(): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return PROGRAMS.every((program) =>
    folders.some((folder) => {
      try {
        accessSync(join(folder, program), constants.X_OK)
        return true
      } catch {
        return false
      }
    }),
  )
}

/** Connects to the server of the run and creates a bucket, which is emptied at the end of the test. */
export async function startS3(t: Pick<Test, 'teardown'>): Promise<S3Server> {
  const answer = JSON.parse(await text(connect(runSocket()))) as S3Access | { error: string }
  if ('error' in answer) throw new Error(answer.error)
  const buckets: string[] = []
  t.teardown(() => emptyBuckets(answer, buckets))
  return withBuckets(answer, buckets)
}

/**
 * Starts a server for this test only, which may be suspended and stopped. It is deleted at the end of the
 * test.
 */
export async function startOwnS3(t: Pick<Test, 'teardown'>): Promise<OwnS3Server> {
  const socket = process.env.TEST_S3_SOCKET
  const { access, ...control } = await launchS3(socket === undefined ? tmpdir() : dirname(socket))
  t.teardown(control.stop)
  return { ...(await withBuckets(access)), ...control }
}

function runSocket(): string {
  const socket = process.env.TEST_S3_SOCKET
  if (socket === undefined) throw new Error('TEST_S3_SOCKET is not set: run the tests with npm test.')
  return socket
}

async function withBuckets(access: S3Access, buckets: string[] = []): Promise<S3Server> {
  const newBucket = (): Promise<string> =>
    withClient(access, async (client) => {
      const name = `test-${randomBytes(8).toString('hex')}`
      await client.send(new CreateBucketCommand({ Bucket: name }))
      buckets.push(name)
      return name
    })
  return { ...access, bucket: await newBucket(), newBucket }
}

/** Frees memory: the server keeps all objects in memory until the end of the run. */
function emptyBuckets(access: S3Access, buckets: string[]): Promise<void> {
  return withClient(access, async (client) => {
    for (const bucket of buckets) {
      try {
        await emptyBucket(client, bucket)
      } catch (error) {
        // The test may have deleted the bucket.
        if (!(error instanceof NoSuchBucket)) throw error
      }
    }
  })
}

async function emptyBucket(client: S3Client, Bucket: string): Promise<void> {
  for (;;) {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
    if (Uploads.length === 0) break
    for (const { Key, UploadId } of Uploads)
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
  }
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
    if (Contents.length === 0) break
    await client.send(
      new DeleteObjectsCommand({
        Bucket,
        Delete: { Objects: Contents.map(({ Key }) => ({ Key })), Quiet: true },
      }),
    )
  }
}

async function withClient<Result>(
  { endpoint, region, accessKeyId, secretAccessKey }: S3Access,
  work: (client: S3Client) => Promise<Result>,
): Promise<Result> {
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
  })
  try {
    return await work(client)
  } finally {
    client.destroy()
  }
}

type LaunchedS3 = { access: S3Access } & Pick<OwnS3Server, 'pause' | 'resume' | 'down' | 'up' | 'stop'>

/** Starts a server in a new folder below `parent`. A failed start and stop() delete the folder. */
async function launchS3(parent: string): Promise<LaunchedS3> {
  const folder = mkdtempSync(join(parent, 's3-'))
  const daemons = new Set<Daemon>()
  const start = (program: string, args: string[]): Daemon => {
    const daemon = startDaemon(folder, program, args)
    daemons.add(daemon)
    return daemon
  }
  const stop = async (): Promise<void> => {
    await Promise.all([...daemons].map((daemon) => daemon.kill()))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const [monitorPort, port] = [await freePort(), await freePort()]
    const access: S3Access = {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      accessKeyId: randomBytes(10).toString('hex').toUpperCase(),
      secretAccessKey: randomBytes(20).toString('hex'),
    }
    const cluster = randomUUID()
    const store = randomUUID()
    const monitor = `[v2:127.0.0.1:${monitorPort}/0]`
    writeFileSync(join(folder, 'ceph.conf'), settings(folder, { cluster, monitor, port }))
    for (const name of ['mon', 'osd']) mkdirSync(join(folder, name))

    await Promise.all([
      runTool(folder, 'ceph-osd', ['--mkfs', '-i', '0', '--osd-uuid', store, '--no-mon-config']),
      runTool(folder, 'monmaptool', ['--create', '--fsid', cluster, '--addv', 'a', monitor, 'monmap']).then(
        () => runTool(folder, 'ceph-mon', ['--mkfs', '-i', 'a', '--monmap', 'monmap', '--no-mon-config']),
      ),
    ])
    start('ceph-mon', ['-i', 'a'])
    await runTool(folder, 'ceph', ['osd', 'new', store])
    start('ceph-osd', ['-i', '0'])
    await runTool(folder, 'radosgw-admin', [
      '--no-mon-config',
      'user',
      'create',
      '--uid',
      'test',
      '--display-name',
      'test',
      '--max-buckets',
      '0',
      '--access-key',
      access.accessKeyId,
      '--secret-key',
      access.secretAccessKey,
    ])

    let gateway: Daemon
    const up = async (): Promise<void> => {
      gateway = start('radosgw', ['-n', 'client.rgw'])
      await waitForGateway(access.endpoint, gateway)
    }
    const down = async (): Promise<void> => {
      await gateway.kill()
      daemons.delete(gateway)
    }
    await up()
    return {
      access,
      pause: () => gateway.signal('SIGSTOP'),
      resume: () => gateway.signal('SIGCONT'),
      down,
      up,
      stop,
    }
  } catch (error) {
    const logs = lastLines(folder)
    await stop()
    throw new Error(
      `Ceph did not start: ${error instanceof Error ? error.message : String(error)}\n${logs}`,
      { cause: error },
    )
  }
}

/** Listens on a socket. The first connection starts the server; every connection receives its access data. */
export async function offerS3(folder: string): Promise<{ socket: string; stop: () => Promise<void> }> {
  const socket = join(folder, 's3.sock')
  let launched: Promise<LaunchedS3> | undefined
  const server = createServer((connection) => {
    connection.on('error', () => {})
    launched ??= launchS3(folder)
    void launched
      .then(
        ({ access }) => access,
        (error: Error) => ({ error: error.message }),
      )
      .then((answer) => connection.end(JSON.stringify(answer)))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  return {
    socket,
    async stop() {
      server.close()
      await launched?.then(
        ({ stop }) => stop(),
        () => {},
      )
    },
  }
}

function settings(
  folder: string,
  { cluster, monitor, port }: { cluster: string; monitor: string; port: number },
): string {
  return `[global]
    fsid = ${cluster}
    mon_host = ${monitor}
    public_addr = 127.0.0.1
    cluster_addr = 127.0.0.1
    ms_bind_msgr1 = false
    # The gateway requires encryption by default, which needs authentication.
    ms_mon_client_mode = crc
    auth_cluster_required = none
    auth_service_required = none
    auth_client_required = none

    mon_data = ${folder}/mon
    osd_data = ${folder}/osd
    rgw_data = ${folder}
    run_dir = ${folder}
    crash_dir = ${folder}
    keyring = ${folder}/keyring
    log_file = ${folder}/$name.log
    mon_cluster_log_file = ${folder}/cluster.log
    admin_socket =
    pid_file =

    # One object store in memory, without replication.
    osd_objectstore = memstore
    memstore_device_bytes = 8589934592
    osd_crush_chooseleaf_type = 0
    osd_pool_default_size = 1
    osd_pool_default_min_size = 1
    osd_pool_default_pg_num = 4
    osd_pool_default_pgp_num = 4
    osd_pool_default_pg_autoscale_mode = off
    mon_allow_pool_size_one = true
    mon_max_pg_per_osd = 1000
    mon_data_avail_warn = 0
    mon_data_avail_crit = 0
    paxos_propose_interval = 0.02

    rgw_frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
    rgw_enable_ops_log = false
    rgw_thread_pool_size = 64
    # Free the memory of deleted objects after 30 seconds instead of two hours.
    rgw_gc_obj_min_wait = 30
    rgw_gc_processor_period = 30

    debug_mon = 0
    debug_osd = 0
    debug_rgw = 0
    debug_rocksdb = 0
  `.replace(/^ +/gm, '')
}

interface Daemon {
  signal(signal: NodeJS.Signals): void
  kill(): Promise<void>
  isRunning(): boolean
}

function startDaemon(folder: string, program: string, args: string[]): Daemon {
  const output = openSync(join(folder, `${program}.out`), 'a')
  // Detached, so that Ctrl-C reaches the tests first. The kernel kills the process when its parent dies.
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', program, '-c', 'ceph.conf', '--no-mon-config', '-f', ...args],
    {
      cwd: folder,
      detached: true,
      env: environment(),
      stdio: ['ignore', output, output],
    },
  )
  closeSync(output)
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => resolve()).once('error', () => resolve()),
  )
  return {
    signal: (signal) => void child.kill(signal),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    isRunning: () => child.exitCode === null && child.signalCode === null,
  }
}

async function runTool(folder: string, program: string, args: string[]): Promise<void> {
  const options = {
    cwd: folder,
    env: environment(),
    timeout: START_SECONDS * 1000,
    killSignal: 'SIGKILL',
  } as const
  await promisify(execFile)(program, ['-c', 'ceph.conf', ...args], options)
}

/** A minimal environment, so that no variable points to another Ceph cluster. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }
}

async function waitForGateway(endpoint: string, gateway: Daemon): Promise<void> {
  const deadline = Date.now() + START_SECONDS * 1000
  for (;;) {
    try {
      await (await fetch(endpoint, { signal: AbortSignal.timeout(START_SECONDS * 1000) })).arrayBuffer()
      return
    } catch (error) {
      if (!gateway.isRunning()) throw new Error('radosgw exited.', { cause: error })
      if (Date.now() > deadline) throw new Error('radosgw does not respond.', { cause: error })
      await sleep(20)
    }
  }
}

function lastLines(folder: string): string {
  return readdirSync(folder)
    .filter((name) => /\.(log|out)$/.test(name))
    .sort()
    .map((name) => {
      const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')
      return `${name}:\n${lines.slice(-8).join('\n')}`
    })
    .join('\n')
}
