# The server without a database; set DATABASE_URL. compose.yaml also starts PostgreSQL, Redis and a worker.
FROM node:24-slim AS dependencies
WORKDIR /srv
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm \
  npm ci --omit=dev --legacy-peer-deps --ignore-scripts --no-audit --no-fund
COPY infra/command-help.ts infra/version.ts infra/
COPY scripts/prune scripts/prune
RUN node scripts/prune/main.ts node_modules

# The packages of the toolkit as npm tarballs.
FROM node:24-slim AS packages
WORKDIR /srv
COPY package.json package-lock.json tsconfig.json ./
COPY packages packages
RUN --mount=type=cache,target=/root/.npm \
  npm ci --legacy-peer-deps --ignore-scripts --no-audit --no-fund
COPY scripts/pack scripts/pack
RUN node scripts/pack/main.ts packages/tarballs

FROM node:24-slim
LABEL org.opencontainers.image.title="Platform API" \
  org.opencontainers.image.description="A schema-first Platform REST API" \
  org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/srv/data NODE_OPTIONS=--v8-pool-size=1
WORKDIR /srv
# A volume mounted here gets this owner. The commands are those of scripts/container/main.ts.
RUN mkdir data && chown 1000:1000 data && ln -s /srv/scripts/container/main.ts /usr/local/bin/platform
COPY --from=dependencies /srv/node_modules node_modules
COPY . .
RUN rm -r packages && node scripts/compile/main.ts
COPY --from=packages /srv/packages/tarballs packages/tarballs
# A number, so that Kubernetes can tell that it is not root. The server writes only to data and /tmp.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["bash", "scripts/container/healthy.sh"]
ENTRYPOINT ["platform"]
CMD ["serve"]
