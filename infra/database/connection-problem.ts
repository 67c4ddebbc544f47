// Explains in one sentence, for the operator, why a connection to the database could not be opened.

/** The setting that has the address. */
export type AddressSetting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL'

const unknownAuthority = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

type Explain = (setting: AddressSetting, message: string) => string

/** By SQLSTATE, or by the code of Node.js. */
const explanations: Record<string, Explain> = {
  ERR_TLS_CERT_ALTNAME_INVALID: (setting, message) =>
    `The certificate of the database has another host name than ${setting} (${message}): use a name that ` +
    'the certificate has.',
  CERT_HAS_EXPIRED: () => 'The certificate of the database has expired: renew it, or correct the clock.',
  '28P01': (setting, message) =>
    `PostgreSQL refuses the password of ${setting} (${message}): it may have expired or been changed.`,
  '28000': (setting, message) =>
    `PostgreSQL refuses the role of ${setting} (${message}): check the role and pg_hba.conf.`,
  '3D000': (setting, message) =>
    `There is no such database as in ${setting} (${message}): correct the name, or create it.`,
  '53300': (_setting, message) =>
    `PostgreSQL has no free connection (${message}): lower DATABASE_POOL_SIZE, raise max_connections, or ` +
    'use a pooler.',
  '25006': (setting, message) =>
    `${setting} leads to no PostgreSQL that accepts writes (${message}): set it to the primary, or to all ` +
    'hosts; see docs/high-availability.md.',
  '42501': (setting, message) =>
    `The role of ${setting} lacks a right (${message}): see "Two roles" in docs/deployment.md.`,
}

/** null for any other error. */
export function connectionProblem(error: unknown, setting: AddressSetting = 'DATABASE_URL'): string | null {
  const {
    code = '',
    message = '',
    path,
  } = (error ?? {}) as { code?: string; message?: string; path?: string }
  if (unknownAuthority.has(code))
    return (
      `The certificate of the database at ${setting} comes from an unknown authority (${message}): set ` +
      "CA_FILE to the authority's certificate, or add sslrootcert=FILE to the address."
    )
  if (/does not support SSL/.test(message))
    return `The database at ${setting} has no TLS: turn it on there, or remove sslmode from the address.`
  if (code === 'ENOENT' && path !== undefined && !path.includes('.s.PGSQL'))
    return `${setting} names a file that cannot be read (${message}): correct the path.`
  return Object.hasOwn(explanations, code) ? explanations[code](setting, message) : null
}
