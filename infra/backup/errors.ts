/** A backup or a restore cannot be done. The message is one sentence for the operator. */
export class BackupError extends Error {}
