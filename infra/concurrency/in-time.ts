/**
 * Throws unless the answer arrives in time. An answer that a busy main thread has not read yet is in time.
 * @param message of the error.
 */
export async function inTime<T>(
  answer: Promise<T>,
  milliseconds: number,
  message = `no answer within ${milliseconds} ms`,
): Promise<T> {
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // What has already arrived is read before.
      setImmediate(() => reject(new Error(message)))
    }, milliseconds)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
