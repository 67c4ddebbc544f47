// The payment page of the sandbox, in a browser.
import type { Page } from 'playwright-core'

export async function fillCard(page: Page, number: string): Promise<void> {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry date').fill('12 / 34')
  await page.getByLabel('Security code').fill('123')
  await page.getByLabel('Name on card').fill('Ada Lovelace')
}

export async function clickPay(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Pay / }).click()
}
