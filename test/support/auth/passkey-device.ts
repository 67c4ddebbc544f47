// A device with one passkey (WebAuthn), for tests without a browser. It makes and uses the key as a real one
// does; tests change what it says to attack the server.
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import type { components } from '../../../generated/types.ts'

type Schemas = components['schemas']

const flags = { present: 0x01, verified: 0x04, backup: 0x18, attested: 0x40 }
const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

export interface DeviceAnswerOptions {
  origin?: string
  domain?: string
  challenge?: string
  /** Whether the device asked for a PIN. */
  verified?: boolean
  counter?: number
  /** The format of the attestation. */
  format?: string
  /** Signs the attestation with the passkey, as the format `packed`. Overrides what the statement says. */
  attests?: { alg?: number; sig?: (data: Buffer, key: KeyObject) => Buffer; more?: [string, CBORType][] }
}

export class PasskeyDevice {
  readonly id = randomBytes(16).toString('base64url')
  readonly #origin: string
  readonly #key: { privateKey: KeyObject; publicKey: KeyObject }
  #counter = 0

  /** @param origin of the page that uses the passkey */
  constructor(origin: string) {
    this.#origin = origin
    this.#key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  }

  /** The answer of `navigator.credentials.create()`. */
  create(
    { challenge, rp }: Schemas['PasskeyCreationOptions'],
    options: DeviceAnswerOptions = {},
  ): Schemas['PasskeyRegistration'] {
    const { x, y } = this.#key.publicKey.export({ format: 'jwk' })
    const publicKey = encodeCBOR(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytesOf(x!)],
        [-3, bytesOf(y!)],
      ]),
    )
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, publicKey])
    const authData = this.#authenticatorData(rp.id, attested, options)
    const clientData = this.#clientData('webauthn.create', challenge, options)
    const { attests } = options
    const signWith = attests?.sig ?? ((data, key) => sign('sha256', data, key))
    const signature = () => signWith(Buffer.concat([authData, sha256(clientData)]), this.#key.privateKey)
    const statement: [string, CBORType][] =
      attests === undefined
        ? []
        : [['alg', attests.alg ?? -7], ['sig', new Uint8Array(signature())], ...(attests.more ?? [])]
    const attestation = new Map<string, CBORType>([
      ['fmt', options.format ?? (attests === undefined ? 'none' : 'packed')],
      ['attStmt', new Map(statement)],
      ['authData', new Uint8Array(authData)],
    ])
    return {
      id: this.id,
      response: {
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: Buffer.from(encodeCBOR(attestation)).toString('base64url'),
      },
    }
  }

  /** The answer of `navigator.credentials.get()`. */
  get(
    { challenge, rpId }: Schemas['PasskeyRequestOptions'],
    options: DeviceAnswerOptions = {},
  ): Schemas['PasskeyAssertion'] {
    this.#counter++
    const clientData = this.#clientData('webauthn.get', challenge, options)
    const authData = this.#authenticatorData(rpId, Buffer.alloc(0), options)
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), this.#key.privateKey)
    return {
      id: this.id,
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    }
  }

  #clientData(type: string, challenge: string, options: DeviceAnswerOptions): Buffer {
    const { origin = this.#origin, challenge: signed = challenge } = options
    return Buffer.from(JSON.stringify({ type, challenge: signed, origin, crossOrigin: false }))
  }

  #authenticatorData(domain: string, attested: Buffer, options: DeviceAnswerOptions): Buffer {
    const { verified = true, counter = this.#counter } = options
    const set =
      flags.present |
      flags.backup |
      (verified ? flags.verified : 0) |
      (attested.length > 0 ? flags.attested : 0)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(options.domain ?? domain), Buffer.from([set]), count, attested])
  }
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
