// The hosts that the server answers at. With PUBLIC_URL, a request must name its host, one of ALLOWED_HOSTS,
// or an IP address or `localhost`, which no page of another site can make a browser send (DNS rebinding). The
// host of FILES_URL serves only the operations with `x-files-origin`.
import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../infra/config/config.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { invalidHeader, notFound, type ApiError } from '../../infra/errors.ts'

type Settings = Pick<Config, 'publicUrl' | 'filesUrl' | 'allowedHosts'>

/** Balancers, orchestrators and Prometheus ask by any name. */
const probed = new Set(['/healthz', '/readyz', '/metrics'])

/** 404 for everything but files at the host of FILES_URL, and 400 at a host that is not the server's. */
export function checkHosts(app: FastifyInstance, { publicUrl, filesUrl, allowedHosts }: Settings): void {
  if (publicUrl === null && filesUrl === null) return
  const isPublic = publicUrl === null ? () => false : hostOf(publicUrl)
  const isFiles = filesUrl === null ? () => false : likeHostOf(filesUrl)
  const allowed = allowedHosts.map((host) => hostOf(`http://${host}`))
  app.addHook('onRequest', ({ host, routeOptions: { config, url } }, _reply, done) => {
    done((refusalOf(host, url, config.operation) ?? undefined) as never)
  })

  function refusalOf(
    host: string,
    url: string | undefined,
    operation: OperationInfo | undefined,
  ): ApiError | null {
    if (isPublic(host)) return null
    if (isFiles(host)) return operation?.filesOrigin === true ? null : notFound('path')
    if (publicUrl === null || (url !== undefined && probed.has(url))) return null
    if (isAddress(host) || allowed.some((isAllowed) => isAllowed(host))) return null
    return invalidHeader('Host', 'host', `The server does not answer at this host. Its URL is ${publicUrl}.`)
  }
}

/** Whether a Host is that of the URL, in any case and with or without the default port. */
export function hostOf(url: string): (host: string) => boolean {
  const { protocol, host: own } = new URL(url)
  return (host) => host === own || URL.parse(`${protocol}//${host}`)?.host === own
}

/** `hostOf`, and also with a dot at the end or without the port. */
function likeHostOf(url: string): (host: string) => boolean {
  const { protocol, hostname, port } = new URL(url)
  return (host) => {
    const asked = URL.parse(`${protocol}//${host}`)
    return asked?.hostname.replace(/\.$/, '') === hostname && (asked.port === port || asked.port === '')
  }
}

function isAddress(host: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? ''
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0
}
