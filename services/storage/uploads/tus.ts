// What of the protocol of resumable uploads (tus) the server speaks.

export const tusVersion = '1.0.0'

export const tusExtensions = ['creation', 'creation-with-upload', 'termination', 'expiration', 'checksum']
