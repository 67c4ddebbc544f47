// The version and the extensions of tus, the protocol of resumable uploads, that the server supports.

export const tusVersion = '1.0.0'

export const tusExtensions = ['creation', 'creation-with-upload', 'termination', 'expiration', 'checksum']
