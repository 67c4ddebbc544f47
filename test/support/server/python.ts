// A Python that can run the Python client.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const check = 'import sys, httpx; assert sys.version_info >= (3, 11)'

/** Python 3.11 with httpx; undefined without one. Debian's is used if the first one in the path lacks it. */
export const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', check], { stdio: 'ignore' }).status === 0,
)

export const skipWithoutPython = python === undefined && 'no Python 3.11 with httpx (Debian: python3-httpx)'

/** The environment of programs that use the client. They write no bytecode next to it. */
export const pythonEnv = {
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONPATH: join(import.meta.dirname, '../../../generated/client-python'),
  PYTHONUTF8: '1',
}
