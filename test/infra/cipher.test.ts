// Secrets at rest: AES-256-GCM, bound to what they belong to, with keys that replace each other.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCipher } from '../../infra/encryption/cipher.ts'
import { openCipher } from '../../infra/encryption/secret-key.ts'

const first = 'a'.repeat(32)
const second = 'b'.repeat(32)

t.test('a ciphertext is decrypted with its key and for its context only', (t) => {
  const cipher = createCipher(first)
  const sealed = cipher.encrypt('whsec_é', 'whe_1')
  t.equal(cipher.decrypt(sealed, 'whe_1'), 'whsec_é')
  t.not(cipher.encrypt('whsec_é', 'whe_1'), sealed, 'each has a nonce of its own')
  t.ok(sealed.startsWith(cipher.prefix))
  t.throws(() => cipher.decrypt(sealed, 'whe_2'), 'it does not fit another endpoint')
  t.throws(() => createCipher(second).decrypt(sealed, 'whe_1'), /unknown key/)
  t.throws(() => cipher.decrypt('whsec_é', 'whe_1'), /unknown key/)
  const bytes = Buffer.from(sealed.slice(cipher.prefix.length), 'base64')
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    t.throws(() => cipher.decrypt(cipher.prefix + changed.toString('base64'), 'whe_1'), `byte ${at}`)
  }
  for (const length of [0, 11, 12, 27, 28])
    t.throws(() => cipher.decrypt(cipher.prefix + bytes.subarray(0, length).toString('base64'), 'whe_1'))
  t.end()
})

t.test('a previous key decrypts, and the current one encrypts', (t) => {
  const before = createCipher(first)
  const after = createCipher(second, [first])
  t.same(after.previousKeyIds, [before.keyId])
  t.equal(after.decrypt(before.encrypt('x', 'c'), 'c'), 'x')
  t.equal(createCipher(second).decrypt(after.encrypt('x', 'c'), 'c'), 'x')
  t.end()
})

t.test('without SECRET_KEY, the first start makes a private file that later starts read', (t) => {
  const dataDir = join(t.testdir(), 'data')
  const settings = { secretKey: null, previousSecretKey: null, dataDir }
  const made = openCipher(settings)
  const path = join(dataDir, 'secret-key')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.match(readFileSync(path, 'utf8'), /^[0-9a-f]{64}\n$/)
  t.equal(openCipher(settings).keyId, made.keyId)
  t.not(openCipher({ ...settings, secretKey: first }).keyId, made.keyId)
  writeFileSync(path, '')
  t.throws(() => openCipher(settings), /shorter than 32/, 'an empty file is not replaced')
  t.end()
})

t.test('a data folder that cannot be written is an error that names the file', (t) => {
  const dataDir = join(t.testdir({ occupied: '' }), 'occupied')
  t.throws(() => openCipher({ secretKey: null, previousSecretKey: null, dataDir }), /occupied\/secret-key/)
  const folder = t.testdir()
  mkdirSync(join(folder, 'secret-key'))
  t.throws(() => openCipher({ secretKey: null, previousSecretKey: null, dataDir: folder }), /cannot be used/)
  t.end()
})
