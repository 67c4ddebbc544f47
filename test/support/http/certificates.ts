// A certificate authority of a test, and the certificate that it gives to 127.0.0.1.
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificates {
  folder: string
  /** Files in the PEM format. */
  authority: string
  certificate: string
  key: string
}

/** The `skip` option of a test that needs the program openssl. */
export const skipWithoutOpenssl = canRun('openssl') ? false : 'no openssl'

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  const path = (name: string): string => join(folder, name)
  const openssl = (line: string, ...more: string[]): Buffer =>
    execFileSync('openssl', [...line.split(' '), ...more], { cwd: folder, stdio: 'pipe' })
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
  openssl(`req -x509 ${key} -keyout ca.key -out ca.pem -days 2 -subj`, '/CN=Authority of a test')
  openssl(
    `req -x509 ${key} -keyout server.key -out server.pem -days 2 -CA ca.pem -CAkey ca.key -subj`,
    '/CN=server of a test',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  )
  return { folder, authority: path('ca.pem'), certificate: path('server.pem'), key: path('server.key') }
}

function canRun(program: string): boolean {
  try {
    execFileSync(program, ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
