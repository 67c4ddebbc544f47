/** Pays a checkout session of the sandbox on its page, by default with a card that is always accepted. */
export async function payWithTestCard(
  port: number,
  id: string,
  number: string = '4242424242424242',
): Promise<void> {
  const card = { number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' }
  const { status } = await fetch(`http://127.0.0.1:${port}/pay/${id}`, {
    method: 'POST',
    body: new URLSearchParams(card),
    redirect: 'manual',
  })
  if (status !== 303) throw new Error(`The payment page answered ${status}.`)
}
