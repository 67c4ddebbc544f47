// Reads BRAND_LOGO.
import { readFileSync } from 'node:fs'
import { ConfigError } from './setting.ts'

export interface Logo {
  type: 'image/svg+xml' | 'image/png'
  bytes: Buffer
}

const maxBytes = 65_536
const png = Buffer.from('89504e470d0a1a0a', 'hex')

/** @throws ConfigError */
export function readLogo(file: string): Logo {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new ConfigError(`BRAND_LOGO cannot be read: ${(error as Error).message}.`)
  }
  if (bytes.length > maxBytes)
    throw new ConfigError(`BRAND_LOGO must be a file of at most ${maxBytes} bytes.`)
  if (bytes.subarray(0, png.length).equals(png)) return { type: 'image/png', bytes }
  if (/^(<\?xml[^>]*>|<!--[^]*?-->|<!DOCTYPE[^>]*>|\s)*<svg[\s>]/i.test(bytes.toString('utf8')))
    return { type: 'image/svg+xml', bytes }
  throw new ConfigError('BRAND_LOGO must be the path of an SVG or PNG file.')
}
