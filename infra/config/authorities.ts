// The certificate authorities of the operator, in addition to those of Node.js, for all connections that this
// process opens: PostgreSQL, Redis, S3, models, gateways and webhooks.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { ConfigError } from './setting.ts'

/** @throws ConfigError */
export function trustAuthorities(file: string): void {
  const certificates = readCertificates(file)
  // Node.js before 22.19 and 24.5.
  if (typeof tls.setDefaultCACertificates !== 'function')
    throw new ConfigError(
      `CA_FILE needs Node.js 24.5 or later, not ${process.version}: start with NODE_EXTRA_CA_CERTS instead.`,
    )
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...certificates])
}

function readCertificates(file: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`CA_FILE cannot be read: ${(error as Error).message}.`)
  }
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0 || !found.every(isCertificate))
    throw new ConfigError(`CA_FILE must be a file of certificates in the PEM format, not \`${file}\`.`)
  return found
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
