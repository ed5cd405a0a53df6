-- A least-squares plane, y = fixed + per_x * x + per_z * z, of the sums that describe the points.
-- group: statistics

-- `s` has the means x, z, y, the variances xx, zz and the covariances xz, xy, zy of the population. A slope is null where its variable stands still
-- (deviates by less than a twentieth of its mean), and all of them are where the two variables go along a line: nothing tells them apart.
--   select macros.plane({'x': 2e0, 'z': 2e0, 'y': 9e0, 'xx': 1e0, 'zz': 1e0, 'xz': 0e0, 'xy': 2e0, 'zy': 1e0})
create macro macros.plane(s) as
    list_transform(
        [{
            's': s,
            'x_moves': s.xx > 2.5e-3 * s.x * s.x,
            'z_moves': s.zz > 2.5e-3 * s.z * s.z
        }],
        lambda of: case
            when of.x_moves and of.z_moves and of.s.xz * of.s.xz > 0.98e0 * of.s.xx * of.s.zz then null
            when of.x_moves and of.z_moves then macros.plane_through(
                of.s,
                (of.s.xy * of.s.zz - of.s.zy * of.s.xz) / (of.s.xx * of.s.zz - of.s.xz * of.s.xz),
                (of.s.zy * of.s.xx - of.s.xy * of.s.xz) / (of.s.xx * of.s.zz - of.s.xz * of.s.xz)
            )
            when of.x_moves then macros.plane_through(of.s, of.s.xy / of.s.xx, null)
            when of.z_moves then macros.plane_through(of.s, null, of.s.zy / of.s.zz)
            else macros.plane_through(of.s, null, null)
        end
    )[1];

-- The plane of these slopes through the means; what stands still is part of what is fixed.
--   select macros.plane_through({'x': 2e0, 'z': 3e0, 'y': 9e0}, 1e0, null)
create macro macros.plane_through(s, per_x, per_z) as {
    'fixed': s.y - coalesce(per_x * s.x, 0) - coalesce(per_z * s.z, 0),
    'per_x': per_x,
    'per_z': per_z
};

-- The height of a plane.
--   select macros.plane_at({'fixed': 1e0, 'per_x': 2e0, 'per_z': null}, 3e0, 4e0)
create macro macros.plane_at(p, x, z) as
    p.fixed + coalesce(p.per_x * x, 0) + coalesce(p.per_z * z, 0);
