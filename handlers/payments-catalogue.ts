// The catalog of products and prices: operators write it, everyone may read it.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import {
  findPrice,
  findProduct,
  insertPrice,
  insertProduct,
  listPrices,
  listProducts,
} from '../services/payments/products-and-prices.ts'
import { paymentsNow } from '../services/payments/clock.ts'

export const paymentsCatalogue = {
  async listProducts({ query }, { db }) {
    return { status: 200, body: await listProducts(db, query) }
  },

  async createProduct({ body }, { db, events }) {
    return await db.transaction(async (tx) => {
      const product = await insertProduct(tx, body)
      await events.emit(tx, 'product.created', product)
      return { status: 201, body: product, headers: { location: `/v1/payments/products/${product.id}` } }
    })
  },

  async getProduct({ params }, { db }) {
    return { status: 200, body: await findProduct(db, params.id) }
  },

  async updateProduct({ params, body, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await findProduct(tx, params.id, { lock: true })
      ifMatch(previous)
      const changes = changesOf(previous, body)
      if (changes === null) return { status: 200, body: previous }
      const updatedAt = new Date(
        Math.max((await paymentsNow(tx)).getTime(), Date.parse(previous.updated_at) + 1),
      )
      await tx.prisma.product.update({
        where: { id: previous.id },
        data: { ...changes, updatedAt },
        select: { id: true },
      })
      const product = await findProduct(tx, previous.id)
      await events.emit(tx, 'product.updated', product, { previous })
      return { status: 200, body: product }
    })
  },

  async listPrices({ query }, { db }) {
    return { status: 200, body: await listPrices(db, query) }
  },

  async createPrice({ body }, { db, events, gateways }) {
    gateways.current.requireAmount(body.unit_amount, body.currency, 'unit_amount')
    return await db.transaction(async (tx) => {
      const price = await insertPrice(tx, body)
      await events.emit(tx, 'price.created', price)
      return { status: 201, body: price, headers: { location: `/v1/payments/prices/${price.id}` } }
    })
  },

  async getPrice({ params }, { db }) {
    return { status: 200, body: await findPrice(db, params.id) }
  },

  async updatePrice({ params, body, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await findPrice(tx, params.id, { lock: true })
      ifMatch(previous)
      const changes = changesOf(previous, body)
      if (changes === null) return { status: 200, body: previous }
      await tx.prisma.price.update({ where: { id: previous.id }, data: changes, select: { id: true } })
      const price = await findPrice(tx, previous.id)
      await events.emit(tx, 'price.updated', price, { previous })
      return { status: 200, body: price }
    })
  },
} satisfies Handlers<'payments-catalogue'>
